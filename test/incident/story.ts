/**
 * The script of an incident: a deploy makes one name slow and another fail with two causes, a queue backs up, and a
 * worker hangs. Every answer that the page gives is compared with what is written here.
 */

const MINUTE = 60_000;

/** What the script does, and so what the answers are. Times are milliseconds since 1970. */
export interface Story {
  readonly begun: number;
  /** A full minute, at which version `v412` goes live. */
  readonly deploy: number;
  readonly marker: string;
  /** The name that takes four times as long since the deploy. */
  readonly slow: string;
  /** The name that fails since the deploy, and why, most frequent first. */
  readonly failing: string;
  readonly causes: readonly {
    readonly exception: string;
    readonly message: string;
    readonly frame: string;
  }[];
  /** The queue that nobody works off, and since when. */
  readonly queue: string;
  readonly backingUpSince: number;
  /** The worker that hangs, what it holds, and since when. */
  readonly worker: string;
  readonly hung: string;
  readonly hungSince: number;
  readonly slots: number;
  /** The order whose payment failed, and what its app did then. */
  readonly order: string;
  readonly next: string;
  readonly schedule: { readonly name: string; readonly task: string; readonly runs: number };
}

/** @param now when somebody begins to ask */
export function tellStory(now: number): Story {
  const deploy = Math.floor(now / MINUTE) * MINUTE - 40 * MINUTE;
  return {
    begun: now - 180 * MINUTE,
    deploy,
    marker: 'v412',
    slow: 'images.resize',
    failing: 'payments.charge',
    causes: [
      { exception: 'CardDeclined', message: 'insufficient funds for order', frame: 'charge.py' },
      { exception: 'GatewayTimeout', message: 'no answer from', frame: 'gateway.py' },
    ],
    queue: 'mail',
    backingUpSince: deploy + 8 * MINUTE,
    worker: 'w2@shop',
    hung: 'video.encode',
    hungSince: deploy + 5 * MINUTE,
    slots: 4,
    order: '11448',
    next: 'orders.cancel',
    schedule: { name: 'Hourly report', task: 'reports.hourly', runs: 3 },
  };
}
