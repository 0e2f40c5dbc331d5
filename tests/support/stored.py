"""Files of tables and the catalog that names them, wherever a lake is: by Iceberg's FileIO and catalog alone.

Owns: how a test lists, reads and writes such files, and makes the catalog name other metadata.
Must not know: what the files hold, and why they change.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyiceberg.table import StaticTable

from syncmgr.lake.iceberg import metadata_file
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.java_api import iterated, listed
from syncmgr.lake.lake import Lake
from syncmgr.lake.spark.jvm import Java
from syncmgr.lake.storage.locations import is_local, local


def files_below(loaded: Java, folder: str) -> set[str]:
    """Of a table's location: paths of the local disk, or the locations of objects."""
    place = f"{loaded.location()}/{folder}"
    if is_local(place):
        return {str(path) for path in local(place).rglob("*") if path.is_file()}
    return {str(found.location()) for found in iterated(loaded.io().listPrefix(f"{place}/"))}


def write(loaded: Java, location: str, content: bytes) -> None:
    """A file in the storage of a table."""
    out = loaded.io().newOutputFile(location).createOrOverwrite()
    try:
        out.write(content)
    finally:
        out.close()


def is_of_rest(lake: Lake) -> bool:
    """Whether its catalog is REST: there a statement that changes no row has an empty snapshot."""
    return lake.place.catalog.get("type") == "rest"


def metadata_location(loaded: Java) -> str:
    return str(loaded.operations().current().metadataFileLocation())


def set_back(iceberg: Iceberg, db: str, table: str) -> None:
    """The catalog names the metadata of one commit ago, as after a restore."""
    previous = listed(iceberg.load(db, table).operations().current().previousFiles())
    _name(iceberg, db, table, str(previous[-1].file()))


def change_metadata(iceberg: Iceberg, db: str, table: str, change: Callable[[dict[str, Any]], None]) -> None:
    """The catalog names changed metadata, in a file of their own."""
    loaded = iceberg.load(db, table)
    location = metadata_location(loaded)
    with iceberg.storage.whole(loaded.io(), location) as path:
        told = metadata_file.read(path)
    change(told)
    folder, _, name = location.rpartition("/")
    anew = f"{folder}/99999-{name.partition('-')[2]}"
    write(loaded, anew, metadata_file.content(Path(anew), told))
    _name(iceberg, db, table, anew)


def _name(iceberg: Iceberg, db: str, table: str, location: str) -> None:
    identifier = iceberg._identifier(db, table)
    iceberg._catalog.dropTable(identifier, False)
    iceberg._catalog.registerTable(identifier, location)


def of_storage(loaded: Java) -> StaticTable:
    """For pyiceberg, without its catalog."""
    settings = {str(key): str(value) for key, value in dict(loaded.io().properties()).items()}
    return StaticTable.from_metadata(metadata_location(loaded), settings)
