"""Patterns of tables in strings: FROM TABLES LIKE, where a name with % was one"""

import re
from collections.abc import Callable

import sqlalchemy as sa
from alembic import op

revision = '0013'
down_revision = '0012'
branch_labels = None
depends_on = None

# Whatever stands in quotes is one token, so that no name, condition or property is taken for a channel.
TOKEN = re.compile(r"""`(?:[^`]|``)*`|"(?:[^"\\]|\\.|"")*"|'(?:[^'\\]|\\.|'')*'|\s+|[\w$\x80-\U0010ffff]+|.""", re.DOTALL)
PIECE = re.compile(r'\\.|.', re.DOTALL)
WILD = {'%', '_'}
JOBS = sa.table('jobs', sa.column('id'), sa.column('statement'))


def upgrade() -> None:
    _rewrite(newer)


def downgrade() -> None:
    _rewrite(older)


def _rewrite(how: Callable[[list[str]], str]) -> None:
    connection = op.get_bind()
    for job_id, text in connection.execute(sa.select(JOBS.c.id, JOBS.c.statement)).all():
        connection.execute(JOBS.update().where(JOBS.c.id == job_id).values(statement=rewritten(text, how)))


def rewritten(text: str, how: Callable[[list[str]], str]) -> str:
    """The statement with each channel of its list as it is now."""
    tokens = TOKEN.findall(text)
    if '(' not in tokens:
        return text
    first = tokens.index('(')
    done, start, depth = [*tokens[: first + 1]], first + 1, 0
    for place in range(first, len(tokens)):
        depth += (tokens[place] == '(') - (tokens[place] == ')')
        if (depth == 1 and tokens[place] == ',') or depth == 0:
            done += [how(tokens[start:place]), tokens[place]]
            start = place + 1
        if depth == 0:
            break
    return ''.join([*done, *tokens[start:]])


def newer(channel: list[str]) -> str:
    words = [word for word in channel if not word.isspace()]
    if len(words) < 6 or is_new(words):  # too short: of a job that was cancelled with its last table
        return ''.join(channel)
    if words[6:8] == ['.', '*']:
        db, table = name(words[1]), words[3]
        source = f'{words[1]}.*' if table == '*' else tables(db, name(table), 'TABLES ')
        items = [tables(db, name(words[at]), '') for at in range(12, len(words), 4)]
        return spaced(channel, f'FROM {source} INTO {words[5]}.*' + excluding(items))
    if '%' in words[1] and words[3] != '*':
        like = f'{normal(name(words[1]))}.{escaped(name(words[3]), ".")}'
        return spaced(channel, f'FROM TABLES LIKE {string(like)} {into(channel)}')
    return ''.join(channel)


def tables(db: str, pattern: str, word: str) -> str:
    pieces = PIECE.findall(pattern)
    if WILD.intersection(pieces):
        return f'{word}LIKE {string(escaped(db, ".") + "." + normal(pattern))}'
    return f'{quoted(db)}.{quoted("".join(piece[-1] for piece in pieces))}'


def is_new(words: list[str]) -> bool:
    return words[1] == 'TABLES' and words[2] != '.'


def older(channel: list[str]) -> str:
    words = [word for word in channel if not word.isspace()]
    if len(words) < 6:
        return ''.join(channel)
    if is_new(words):
        return older_pattern(channel, words)
    if words[6:8] == ['.', '*']:
        table = words[3] if words[3] == '*' else quoted(escaped(name(words[3])))
        items = older_items(words[10:-1], name(words[1]))
        return spaced(channel, f'FROM {words[1]}.{table} INTO {words[5]}.*' + excluding(items))
    if '%' in words[1]:
        raise ValueError(f'the version before has no words for {"".join(channel).strip()}')
    return ''.join(channel)


def older_pattern(channel: list[str], words: list[str]) -> str:
    if words[6:8] == ['.', '*']:
        db, table = parts(words[2:4], last=False)
        source = f'{quoted(plain(db))}.{quoted(table)}'
        return spaced(channel, f'FROM {source} INTO {words[5]}.*' + excluding(older_items(words[10:-1], plain(db))))
    db, table = parts(words[2:4], last=True)
    out = any(one in '(,' and two in ('LIKE', 'REGEXP') for one, two in zip(words, words[1:]))
    if '%' not in db or out:
        raise ValueError(f'the version before has no words for {"".join(channel).strip()}')
    return spaced(channel, f'FROM {quoted(db)}.{quoted(plain(table))} {into(channel)}')


def older_items(words: list[str], source_db: str) -> list[str]:
    items: list[list[str]] = [[]]
    for word in words:
        items.append([]) if word == ',' else items[-1].append(word)
    return [older_item(item, source_db) for item in items if item]


def older_item(item: list[str], source_db: str) -> str:
    if item[0].startswith('`'):
        return f'{item[0]}.{quoted(escaped(name(item[2])))}'
    db, table = parts(item, last=False)
    if plain(db) != source_db or WILD.intersection(PIECE.findall(db)):
        raise ValueError(f'the version before has no words for {" ".join(item)}')
    return f'{quoted(plain(db))}.{quoted(table)}'


def parts(pattern: list[str], *, last: bool) -> tuple[str, str]:
    """Of LIKE and its string: what is before the dot between database and table, and what is after it."""
    if pattern[0] != 'LIKE':
        raise ValueError(f'the version before has no words for {" ".join(pattern)}')
    pieces = PIECE.findall(re.sub(r'\\(.)', r'\1', pattern[1][1:-1], flags=re.DOTALL))
    dot = len(pieces) - 1 - pieces[::-1].index('.') if last else pieces.index('.')
    return ''.join(pieces[:dot]), ''.join(pieces[dot + 1 :])


def spaced(channel: list[str], text: str) -> str:
    return (channel[0] if channel[0].isspace() else '') + text + (channel[-1] if channel[-1].isspace() else '')


def into(channel: list[str]) -> str:
    return ''.join(channel[channel.index('INTO') :]).rstrip()


def excluding(items: list[str]) -> str:
    return f' EXCLUDE ({", ".join(items)})' if items else ''


def name(word: str) -> str:
    return word[1:-1].replace('``', '`')


def quoted(text: str) -> str:
    return '`' + text.replace('`', '``') + '`'


def string(text: str) -> str:
    return '"' + text.replace('\\', '\\\\').replace('"', '\\"') + '"'


def escaped(text: str, more: str = '') -> str:
    return ''.join('\\' + sign if sign in '\\%_' + more else sign for sign in text)


def plain(pattern: str) -> str:
    return ''.join(piece[-1] for piece in PIECE.findall(pattern))


def normal(pattern: str) -> str:
    """A backslash at its end stood for itself."""
    return ''.join('\\\\' if piece == '\\' else piece for piece in PIECE.findall(pattern))
