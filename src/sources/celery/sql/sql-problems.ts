/**
 * Problems of databases and their clients, in our own sentences. The messages of clients and servers are never passed
 * on, because they may contain addresses, user names, statements and values.
 */
import {
  connectionSentences,
  createProblems,
  firstMatch,
  type ProblemPatterns,
  ServerError,
} from '../../../server-problems.ts';

/** Why a statement failed. The message is the problem's sentence, without secrets. */
class SqlError extends ServerError {
  override readonly name = 'SqlError';
}

const SENTENCES = {
  ...connectionSentences('the database'),
  ENOENT: 'The file or socket of the database does not exist.',
  EACCES: 'The file or socket of the database may not be opened.',
  TLS: 'The TLS connection to the database has failed: check its certificate.',
  WRONGPASS: 'The database refuses the user name or password.',
  NODATABASE: 'There is no database with this name.',
  MAXCLIENTS: 'The database or the pool has no free connection.',
  STARTING: 'The database is starting, or has been shut down.',
  LOCKED: 'Another connection has locked the database.',
  CORRUPT: 'The database file is damaged, or is not a database.',
  POOLCLOSED: 'The client of the database has been closed.',
  NOPERM: 'The user of the database may not read a table.',
  NOTABLE: 'A table does not exist in this database.',
  NOCOLUMN: 'A table lacks a column: its name may belong to another table.',
  DIALECT: "The database does not understand the statement: check 'sql.dialect'.",
  BADROWS:
    "'sql.query' must resolve to rows as objects, such as pool.query(text, values).then((result) => result.rows) for " +
    'pg, and pool.execute(text, values).then(([rows]) => rows) for mysql2.',
  TOOMANY: 'Too many statements wait for the database.',
  UNKNOWN: 'The client of the database has failed.',
};

/** Codes of {@link SqlError}. */
type SqlProblemCode = keyof typeof SENTENCES;

/** By code of the driver: SQLSTATE or the beginning of it (pg, postgres.js), and names of MySQL. */
const BY_CODE: ProblemPatterns<SqlProblemCode> = [
  [
    /^42501$|^ER_(?:TABLEACCESS|COLUMNACCESS|DBACCESS|SPECIFIC_ACCESS)_DENIED|^SQLITE_(?:AUTH|PERM)/,
    'NOPERM',
  ],
  [/^42P01$|^3F000$|^ER_NO_SUCH_TABLE/, 'NOTABLE'],
  [/^42703$|^ER_BAD_FIELD_ERROR/, 'NOCOLUMN'],
  [/^42(?:601|883|846|804)$|^ER_(?:PARSE_ERROR|SP_DOES_NOT_EXIST|FUNC_INEXISTENT)/, 'DIALECT'],
  [/^28|^ER_(?:ACCESS_DENIED|HOST_NOT_PRIVILEGED)|^SASL/, 'WRONGPASS'],
  [/^3D000$|^ER_BAD_DB_ERROR/, 'NODATABASE'],
  [/^53|^ER_(?:CON_COUNT|TOO_MANY_USER_CONN|USER_LIMIT)/, 'MAXCLIENTS'],
  [
    /^57014$|^ETIMEDOUT$|^CONNECT_TIMEOUT|^PROTOCOL_SEQUENCE_TIMEOUT|^ER_(?:QUERY_TIMEOUT|STATEMENT_TIMEOUT)/,
    'TimeoutError',
  ],
  [/^57P|^ER_(?:SERVER_SHUTDOWN|NORMAL_SHUTDOWN)/, 'STARTING'],
  [
    /^08|^PROTOCOL_CONNECTION_LOST|^CONNECTION_(?:CLOSED|ENDED|DESTROYED)|^ER_CLIENT_INTERACTION_TIMEOUT/,
    'LOST',
  ],
  [/^55P03$|^ER_LOCK_|^SQLITE_(?:BUSY|LOCKED)/, 'LOCKED'],
  [/^SQLITE_(?:CORRUPT|NOTADB)/, 'CORRUPT'],
  [/^SQLITE_CANTOPEN/, 'ENOENT'],
  [/^(?:CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_(?:TLS|SSL|OSSL)|HANDSHAKE_)/, 'TLS'],
];

/** Errors without a meaningful code. */
const BY_MESSAGE: ProblemPatterns<SqlProblemCode> = [
  [/no such table/i, 'NOTABLE'],
  [/no such column/i, 'NOCOLUMN'],
  [/no such function|syntax error|unrecognized token/i, 'DIALECT'],
  [/database (?:table )?is locked/i, 'LOCKED'],
  [/malformed|not a database/i, 'CORRUPT'],
  [/unable to open/i, 'ENOENT'],
  [/not authorized|permission denied/i, 'NOPERM'],
  [/pool is (?:closed|ended)|after calling end|(?:is|connection is) not open|closed state/i, 'POOLCLOSED'],
  [/password|authentication/i, 'WRONGPASS'],
  [/timed? ?out|timeout/i, 'TimeoutError'],
  [/terminated|closed|connection (?:ended|lost)|not queryable/i, 'LOST'],
];

export const { errorOf: sqlError, toError: sqlErrorOf } = createProblems<SqlProblemCode, SqlError>(
  SENTENCES,
  SqlError,
  (error) => codeOf(error, 3),
);

/** @param depth maximum number of errors to examine: query builders wrap those of drivers */
function codeOf(error: unknown, depth: number): SqlProblemCode | null {
  if (typeof error !== 'object' || error === null || depth === 0) return null;
  const { code, message, errors, cause } = error as Record<string, unknown>;
  if (typeof code === 'string') {
    if (Object.hasOwn(SENTENCES, code)) return code as SqlProblemCode;
    const known = firstMatch(BY_CODE, code);
    if (known !== null) return known;
  }
  // Node tries every address of a name; all of them failed.
  const inner = Array.isArray(errors) && errors.length > 0 ? errors[0] : cause;
  const wrapped = codeOf(inner, depth - 1);
  if (wrapped !== null || typeof message !== 'string') return wrapped;
  return firstMatch(BY_MESSAGE, message);
}
