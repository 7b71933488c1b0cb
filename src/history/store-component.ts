/** The component that shows how the store of a history is doing. */
import type { Component } from '../model.ts';
import type { StoreStatus } from './stored-history.ts';

/** Key of the component within its source. */
export const STORE_COMPONENT = 'history.store';

/** @param now milliseconds since 1970 */
export function storeComponent(status: StoreStatus, now: number): Component {
  const { engine, phase, isHolder, waiting, waitingSince, lastWrite, error, code, lost, lostAt, bytes } =
    status;
  const hint = hintFor(status);
  return {
    key: STORE_COMPONENT,
    name: 'History store',
    enabled: true,
    status: error !== null ? 'down' : phase === 'opening' ? 'unknown' : 'up',
    config: {
      engine,
      phase,
      // Who collects and writes for the source; the others answer.
      is_holder: isHolder,
      waiting,
      delay_seconds: waitingSince === null ? 0 : Math.max(0, Math.floor((now - waitingSince) / 1_000)),
      last_write: timeOf(lastWrite),
      bytes,
      lost,
      lost_at: timeOf(lostAt),
      error,
      code,
      hints: hint === null ? [] : [hint],
    },
    redacted: true,
  };
}

function timeOf(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

/** What to do about a code of the store, of the driver or of the database. */
const REMEDIES: readonly (readonly [codes: readonly string[], remedy: string])[] = [
  [
    ['schema_newer'],
    'Another instance has migrated the history: install the same version of express-task-monitor here.',
  ],
  [
    ['schema_missing'],
    'Start an instance that may create the tables, or run the statements of docs/history.md.',
  ],
  [
    ['source_taken'],
    "Another deployment writes under this name: give this source another one, such as celerySources({ name: 'shop' }).",
  ],
  [['source_missing'], 'Start an instance that writes the history of this source.'],
  [
    [
      'ECONNREFUSED',
      'ENOTFOUND',
      'EHOSTUNREACH',
      'ECONNRESET',
      'ETIMEDOUT',
      '57P01',
      '57P03',
      '08006',
      '08001',
    ],
    'Start the database, or correct its address. What happens meanwhile is kept in memory and written later.',
  ],
  [
    ['28P01', '28000', '3D000'],
    'Correct the user, the password or the name of the database in the pool of the host.',
  ],
  [['42501'], 'Give the user of the database the rights that docs/history.md lists.'],
  [
    ['25006', 'SQLITE_READONLY', 'EROFS'],
    'The database can only be read: connect to the primary, or let this instance only answer with readOnly: true.',
  ],
  [['53100', 'SQLITE_FULL', 'ENOSPC'], 'The disk of the database is full: free space, or keep fewer days.'],
  [['53300'], 'The database has no free connection: give it more, or make the pools of the host smaller.'],
  [
    ['SQLITE_CORRUPT', 'SQLITE_NOTADB'],
    'The file is damaged: restore it from a backup, or move it away, so that a new one is created.',
  ],
];

/** @returns a sentence that says what to do; `null`: nothing is wrong, or it is not known */
export function hintFor({ error, code, phase, lost }: StoreStatus): string | null {
  if (error === null) {
    if (lost === 0) return null;
    return 'More happened than the store took: use a faster database, or let memory hold more with retention.maxTasks.';
  }
  const remedy = REMEDIES.find(([codes]) => code !== null && codes.includes(code))?.[1];
  if (remedy !== undefined) return remedy;
  return phase === 'opening' ? 'The store cannot be opened: see docs/history.md.' : null;
}
