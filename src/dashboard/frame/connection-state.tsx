/** The state of the connection: the indicator, the banner, and what replaces the view while none may be shown. */
import type { ComponentChildren } from 'preact';
import { clock } from '../live/clock.ts';
import { type Connection, connection, isShut, streamedAt } from '../live/connection.ts';
import { hasFeed, SILENT_MS } from '../live/feed.ts';
import { Empty } from '../parts/problem.tsx';
import { ViewHead } from '../parts/view-head.tsx';
import { useStore } from '../store.ts';
import { duration } from '../text/numbers.ts';

/** The view, or why it may not be shown. It is not even mounted then, so that nothing of it can be read. */
export function Gate({ children }: { readonly children: ComponentChildren }) {
  const now = useStore(connection);
  if (!isShut(now)) return <>{children}</>;
  const isSignedOut = now.state === 'signed-out';
  return (
    <>
      <ViewHead title={isSignedOut ? 'Signed out' : 'Refused'} />
      <div role="alert">
        <Empty
          title={
            isSignedOut
              ? 'You are signed out. Sign in and this view comes back.'
              : 'You may not see this monitor. Its app refused you.'
          }
        >
          <button type="button" onClick={() => location.reload()}>
            {isSignedOut ? 'Sign in' : 'Try again'}
          </button>
        </Empty>
      </div>
    </>
  );
}

interface Indicator {
  readonly tone: string;
  readonly word: string;
  readonly title?: string;
}

const INDICATORS: Readonly<Record<Exclude<Connection['state'], 'ok'>, Indicator>> = {
  connecting: { tone: 'waiting', word: 'Connecting' },
  lost: { tone: 'failure', word: 'Disconnected' },
  'signed-out': { tone: 'failure', word: 'Signed out' },
  refused: { tone: 'failure', word: 'Refused' },
};

const openedAt = Date.now();

/** Live only while the stream sends something: its comments come every 15 s. */
function indicatorOf(state: Connection['state'], isFed: boolean, at: number | null, now: number): Indicator {
  if (state !== 'ok') return INDICATORS[state];
  const polling = { tone: 'waiting', word: 'Polling' };
  if (!isFed) {
    return { ...polling, title: 'No event feed: the page reloads its data every 15 s.' };
  }
  if (now - (at ?? openedAt) > SILENT_MS) {
    return { ...polling, title: 'The event stream is silent: the page reloads its data every 15 s.' };
  }
  return at === null ? INDICATORS.connecting : { tone: 'success', word: 'Live' };
}

/** Says whether what is shown is live. */
export function ConnectionState() {
  const { state } = useStore(connection);
  const available = useStore(hasFeed);
  const at = useStore(streamedAt);
  const now = useStore(clock);
  const { tone, word, title } = indicatorOf(state, available, at, now);
  return (
    <span class={`connection tone-${tone}`} role="status" title={title}>
      {word}
    </span>
  );
}

/** A banner across the page while the connection is lost. */
export function Lost() {
  const { state, answeredAt } = useStore(connection);
  const now = useStore(clock);
  if (state !== 'lost') return null;
  const age =
    answeredAt === null
      ? ''
      : ` The data shown is ${duration(Math.max(0, Math.round((now - answeredAt) / 1_000)) * 1_000)} old.`;
  return (
    <div class="lost" role="alert">
      {`The monitor does not answer; the page retries automatically.${age}`}
    </div>
  );
}
