import type { StatsCauseBody } from '../../client.ts';

/** A cause in words: the class of the exception and its message. */
export function CauseText({ cause }: { readonly cause: StatsCauseBody }) {
  const { exception, message, frame } = cause;
  return (
    <>
      <b>{exception ?? (message === null ? 'Unknown error' : '')}</b>
      {message !== null && message !== '' && (
        <span>
          {exception === null ? '' : ': '}
          {message}
        </span>
      )}
      {frame !== null && <span class="dim"> {frame}</span>}
    </>
  );
}

/** Whether a cause is new in the period. */
export function NewBadge({ cause: { is_new } }: { readonly cause: StatsCauseBody }) {
  if (is_new === false) return null;
  const title = is_new === null ? 'There is no data from before this period.' : 'First seen in this period';
  return (
    <span class={`badge outlined tone-${is_new === null ? 'waiting' : 'failure'}`} title={title}>
      {is_new === null ? 'maybe new' : 'new'}
    </span>
  );
}
