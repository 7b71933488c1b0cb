/** Names of tables and indexes. They need no quotes, but are quoted. */

const NAME = /^[a-z_][a-z0-9_]{0,62}$/;

/** PostgreSQL cuts longer names. */
const LONGEST = 63;
/** The longest name of a table or index, behind the prefix: an index of a partition. */
const LONGEST_SUFFIX = 'task_d999999_search'.length;

/** Most characters of a prefix. */
export const LONGEST_PREFIX: number = LONGEST - LONGEST_SUFFIX;

/** Quoted names of the tables. */
export interface TableNames {
  /** `null`: the schema that connections are set to. */
  readonly schema: string | null;
  readonly prefix: string;
  readonly meta: string;
  readonly source: string;
  readonly lease: string;
  readonly task: string;
  readonly relation: string;
  readonly feed: string;
  readonly snapshot: string;
  readonly rollup: string;
  readonly cause: string;
  /** Quotes the name of another table of this store. */
  of(name: string): string;
  /** Quotes the name of an index of this store, which is created in the schema of its table. */
  index(name: string): string;
}

/** Whether a name of a schema is allowed. */
export function isSchemaName(name: string): boolean {
  return NAME.test(name);
}

/** Whether names of tables may begin like this. */
export function isTablePrefix(prefix: string): boolean {
  return NAME.test(prefix) && prefix.length <= LONGEST_PREFIX;
}

/**
 * @param schema of PostgreSQL; `null`: the one that connections are set to
 * @throws TypeError when a name is not allowed
 */
export function tableNames(schema: string | null, prefix: string): TableNames {
  if (schema !== null && !isSchemaName(schema))
    throw new TypeError(
      'The schema must be lower-case letters, digits and _, and must not begin with a digit.',
    );
  if (!isTablePrefix(prefix))
    throw new TypeError(
      `The prefix of the tables must be lower-case letters, digits and _, must not begin with a digit, and may have at most ${LONGEST_PREFIX} characters.`,
    );
  const of = (name: string): string =>
    schema === null ? `"${prefix}${name}"` : `"${schema}"."${prefix}${name}"`;
  return {
    schema,
    prefix,
    meta: of('meta'),
    source: of('source'),
    lease: of('lease'),
    task: of('task'),
    relation: of('relation'),
    feed: of('feed'),
    snapshot: of('snapshot'),
    rollup: of('rollup'),
    cause: of('cause'),
    of,
    index: (name) => `"${prefix}${name}"`,
  };
}
