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

/** Says that a cause is new in the period, if this is known. */
export function NewBadge({ cause: { is_new } }: { readonly cause: StatsCauseBody }) {
  if (is_new !== true) return null;
  return (
    <span class="badge outlined tone-failure" title="First seen in this period">
      new
    </span>
  );
}
