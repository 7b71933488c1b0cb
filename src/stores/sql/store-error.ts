/** Kinds of failures that have a remedy, or that the code reacts to. */
export type StoreErrorCode =
  | 'unreachable'
  | 'timeout'
  | 'overloaded'
  | 'unsupported'
  | 'schema_newer'
  | 'schema_older'
  | 'schema_missing'
  | 'source_taken'
  | 'source_missing'
  | 'read_only'
  | 'disk_full'
  | 'corrupt'
  | 'locked'
  | 'permission'
  | 'conflict'
  /** Of a value, not of the statement: others may be written without it. */
  | 'refused'
  | 'failed';

/** A failure of a store. `message` is a sentence without secrets and values. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;
  /** The remedy, as a sentence. */
  readonly remedy: string;

  constructor(code: StoreErrorCode, message: string, remedy: string = REMEDIES[code]) {
    super(message);
    this.code = code;
    this.remedy = remedy;
  }
}

const REMEDIES: Readonly<Record<StoreErrorCode, string>> = {
  unreachable: 'Check that the database runs and that this host may connect to it.',
  timeout: 'Check the load and the locks of the database.',
  overloaded: 'Check the load of the database. It receives more requests than it can answer.',
  unsupported: 'Use Node 22.13 or later, or postgresStore.',
  schema_newer: 'Upgrade express-task-monitor on this instance.',
  schema_older: 'Stop all instances, drop these tables, and start again: they are of a pre-release.',
  schema_missing:
    'Start an instance that may create the tables, or create them as described in docs/history.md.',
  source_taken: 'Give one of the sources another name.',
  source_missing: 'Start an instance that writes under this name.',
  read_only: 'Make the database writable, or open the store with readOnly: true.',
  disk_full: 'Free disk space, or shorten the retention of the store.',
  corrupt: 'Stop all processes that use it, move it away, and start again or restore a backup.',
  locked: 'Wait until the backup or migration that locks the database has ended.',
  permission: 'Give the role or user the rights that docs/history.md lists.',
  conflict: 'Nothing: the monitor tries again.',
  refused: 'Nothing: the value is omitted.',
  failed: 'See the log of the database.',
};

/** Whether an error is a failure of a store of this kind. */
export function isStoreError(error: unknown, ...codes: readonly StoreErrorCode[]): error is StoreError {
  return error instanceof StoreError && codes.includes(error.code);
}
