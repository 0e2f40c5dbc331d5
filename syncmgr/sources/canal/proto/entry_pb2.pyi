from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EntryType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    UNKNOWN_ENTRY: _ClassVar[EntryType]
    TRANSACTIONBEGIN: _ClassVar[EntryType]
    ROWDATA: _ClassVar[EntryType]
    TRANSACTIONEND: _ClassVar[EntryType]
    HEARTBEAT: _ClassVar[EntryType]
    GTIDLOG: _ClassVar[EntryType]

class EventType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    UNKNOWN_EVENT: _ClassVar[EventType]
    INSERT: _ClassVar[EventType]
    UPDATE: _ClassVar[EventType]
    DELETE: _ClassVar[EventType]
    CREATE: _ClassVar[EventType]
    ALTER: _ClassVar[EventType]
    ERASE: _ClassVar[EventType]
    QUERY: _ClassVar[EventType]
    TRUNCATE: _ClassVar[EventType]
    RENAME: _ClassVar[EventType]
    CINDEX: _ClassVar[EventType]
    DINDEX: _ClassVar[EventType]
    GTID: _ClassVar[EventType]
    XACOMMIT: _ClassVar[EventType]
    XAROLLBACK: _ClassVar[EventType]
    MHEARTBEAT: _ClassVar[EventType]
UNKNOWN_ENTRY: EntryType
TRANSACTIONBEGIN: EntryType
ROWDATA: EntryType
TRANSACTIONEND: EntryType
HEARTBEAT: EntryType
GTIDLOG: EntryType
UNKNOWN_EVENT: EventType
INSERT: EventType
UPDATE: EventType
DELETE: EventType
CREATE: EventType
ALTER: EventType
ERASE: EventType
QUERY: EventType
TRUNCATE: EventType
RENAME: EventType
CINDEX: EventType
DINDEX: EventType
GTID: EventType
XACOMMIT: EventType
XAROLLBACK: EventType
MHEARTBEAT: EventType

class Entry(_message.Message):
    __slots__ = ("header", "entryType", "storeValue")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    ENTRYTYPE_FIELD_NUMBER: _ClassVar[int]
    STOREVALUE_FIELD_NUMBER: _ClassVar[int]
    header: Header
    entryType: EntryType
    storeValue: bytes
    def __init__(self, header: _Optional[_Union[Header, _Mapping]] = ..., entryType: _Optional[_Union[EntryType, str]] = ..., storeValue: _Optional[bytes] = ...) -> None: ...

class Header(_message.Message):
    __slots__ = ("logfileName", "logfileOffset", "serverId", "serverenCode", "executeTime", "schemaName", "tableName", "eventLength", "eventType", "props", "gtid")
    LOGFILENAME_FIELD_NUMBER: _ClassVar[int]
    LOGFILEOFFSET_FIELD_NUMBER: _ClassVar[int]
    SERVERID_FIELD_NUMBER: _ClassVar[int]
    SERVERENCODE_FIELD_NUMBER: _ClassVar[int]
    EXECUTETIME_FIELD_NUMBER: _ClassVar[int]
    SCHEMANAME_FIELD_NUMBER: _ClassVar[int]
    TABLENAME_FIELD_NUMBER: _ClassVar[int]
    EVENTLENGTH_FIELD_NUMBER: _ClassVar[int]
    EVENTTYPE_FIELD_NUMBER: _ClassVar[int]
    PROPS_FIELD_NUMBER: _ClassVar[int]
    GTID_FIELD_NUMBER: _ClassVar[int]
    logfileName: str
    logfileOffset: int
    serverId: int
    serverenCode: str
    executeTime: int
    schemaName: str
    tableName: str
    eventLength: int
    eventType: EventType
    props: _containers.RepeatedCompositeFieldContainer[Pair]
    gtid: str
    def __init__(self, logfileName: _Optional[str] = ..., logfileOffset: _Optional[int] = ..., serverId: _Optional[int] = ..., serverenCode: _Optional[str] = ..., executeTime: _Optional[int] = ..., schemaName: _Optional[str] = ..., tableName: _Optional[str] = ..., eventLength: _Optional[int] = ..., eventType: _Optional[_Union[EventType, str]] = ..., props: _Optional[_Iterable[_Union[Pair, _Mapping]]] = ..., gtid: _Optional[str] = ...) -> None: ...

class TransactionEnd(_message.Message):
    __slots__ = ("props",)
    PROPS_FIELD_NUMBER: _ClassVar[int]
    props: _containers.RepeatedCompositeFieldContainer[Pair]
    def __init__(self, props: _Optional[_Iterable[_Union[Pair, _Mapping]]] = ...) -> None: ...

class RowChange(_message.Message):
    __slots__ = ("eventType", "isDdl", "sql", "rowDatas", "ddlSchemaName")
    EVENTTYPE_FIELD_NUMBER: _ClassVar[int]
    ISDDL_FIELD_NUMBER: _ClassVar[int]
    SQL_FIELD_NUMBER: _ClassVar[int]
    ROWDATAS_FIELD_NUMBER: _ClassVar[int]
    DDLSCHEMANAME_FIELD_NUMBER: _ClassVar[int]
    eventType: EventType
    isDdl: bool
    sql: str
    rowDatas: _containers.RepeatedCompositeFieldContainer[RowData]
    ddlSchemaName: str
    def __init__(self, eventType: _Optional[_Union[EventType, str]] = ..., isDdl: _Optional[bool] = ..., sql: _Optional[str] = ..., rowDatas: _Optional[_Iterable[_Union[RowData, _Mapping]]] = ..., ddlSchemaName: _Optional[str] = ...) -> None: ...

class RawRowChange(_message.Message):
    __slots__ = ("eventType", "rowDatas")
    EVENTTYPE_FIELD_NUMBER: _ClassVar[int]
    ROWDATAS_FIELD_NUMBER: _ClassVar[int]
    eventType: EventType
    rowDatas: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, eventType: _Optional[_Union[EventType, str]] = ..., rowDatas: _Optional[_Iterable[bytes]] = ...) -> None: ...

class RowData(_message.Message):
    __slots__ = ("beforeColumns", "afterColumns")
    BEFORECOLUMNS_FIELD_NUMBER: _ClassVar[int]
    AFTERCOLUMNS_FIELD_NUMBER: _ClassVar[int]
    beforeColumns: _containers.RepeatedCompositeFieldContainer[Column]
    afterColumns: _containers.RepeatedCompositeFieldContainer[Column]
    def __init__(self, beforeColumns: _Optional[_Iterable[_Union[Column, _Mapping]]] = ..., afterColumns: _Optional[_Iterable[_Union[Column, _Mapping]]] = ...) -> None: ...

class Column(_message.Message):
    __slots__ = ("index", "sqlType", "name", "isKey", "updated", "isNull", "value", "mysqlType")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    SQLTYPE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ISKEY_FIELD_NUMBER: _ClassVar[int]
    UPDATED_FIELD_NUMBER: _ClassVar[int]
    ISNULL_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    MYSQLTYPE_FIELD_NUMBER: _ClassVar[int]
    index: int
    sqlType: int
    name: str
    isKey: bool
    updated: bool
    isNull: bool
    value: str
    mysqlType: str
    def __init__(self, index: _Optional[int] = ..., sqlType: _Optional[int] = ..., name: _Optional[str] = ..., isKey: _Optional[bool] = ..., updated: _Optional[bool] = ..., isNull: _Optional[bool] = ..., value: _Optional[str] = ..., mysqlType: _Optional[str] = ...) -> None: ...

class Pair(_message.Message):
    __slots__ = ("key", "value")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: str
    def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
