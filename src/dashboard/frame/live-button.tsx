import { type Connection, connection, streamedAt } from '../live/connection.ts';
import { hasFeed, SILENT_MS } from '../live/feed.ts';
import { clock, type Hold, held, isPaused } from '../live/pace.ts';
import { useStore } from '../store.ts';
import { count } from '../text/format.ts';

interface Pace {
  readonly tone: string;
  readonly word: string;
  readonly title: string;
}

const PAUSE = 'Pause (l)';
const UNLIVE: Readonly<Record<Exclude<Connection['state'], 'ok'>, Pace>> = {
  connecting: { tone: 'waiting', word: 'Connecting', title: PAUSE },
  lost: { tone: 'failure', word: 'No answer', title: 'The page retries automatically.' },
  'signed-out': { tone: 'failure', word: 'Signed out', title: 'Sign in to the app again.' },
  refused: { tone: 'failure', word: 'Refused', title: 'The app refused the request.' },
};

const openedAt = Date.now();

/** Live only while the stream sends something: it sends a comment every 15 s. */
function paceOf(isFed: boolean, at: number | null, now: number): Pace {
  const polling = { tone: 'waiting', word: 'Every 15 s' };
  if (!isFed) return { ...polling, title: `There is no event feed. ${PAUSE}` };
  if (now - (at ?? openedAt) > SILENT_MS)
    return { ...polling, title: `The event feed sends nothing. ${PAUSE}` };
  return at === null ? UNLIVE.connecting : { tone: 'good', word: 'Live', title: PAUSE };
}

function heldPace({ count: number, isPartial }: Hold): Pace {
  return {
    tone: 'retry',
    word: `Held · ${isPartial ? 'over ' : ''}${count(number)} new`,
    title: 'Rows stay in place while you read. Show new ones (l)',
  };
}

/** Pauses and resumes; shows the changes that arrived while rows were held. */
export function toggleLive(): void {
  const hold = held.get();
  if (isPaused.get()) isPaused.set(false);
  else if (hold === null) isPaused.set(true);
  else hold.release();
}

/** Shows whether the page is live, and pauses it. */
export function LiveButton() {
  const { state } = useStore(connection);
  const isFed = useStore(hasFeed);
  const at = useStore(streamedAt);
  const now = useStore(clock);
  const hold = useStore(held);
  const isStill = useStore(isPaused);
  let pace: Pace;
  if (state !== 'ok') pace = UNLIVE[state];
  else if (isStill) pace = { tone: 'retry', word: 'Paused', title: 'Resume (l)' };
  else pace = hold === null ? paceOf(isFed, at, now) : heldPace(hold);
  const { tone, word, title } = pace;
  return (
    <span class="frame-live" role="status">
      <button type="button" class={`live tone-${tone}`} title={title} onClick={toggleLive}>
        {word}
      </button>
    </span>
  );
}
