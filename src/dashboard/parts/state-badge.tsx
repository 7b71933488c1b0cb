/** A state by colour and by its word. */
const TONES: Readonly<Record<string, string>> = {
  PENDING: 'waiting',
  RECEIVED: 'waiting',
  STARTED: 'running',
  RETRY: 'retry',
  SUCCESS: 'success',
  FAILURE: 'failure',
  REVOKED: 'revoked',
  REJECTED: 'revoked',
};

/** Which colour stands for a state; a worker may invent any, which then is a way of running. */
export const toneOf = (state: string | null): string => {
  if (state === null) return 'waiting';
  return Object.hasOwn(TONES, state) ? (TONES[state] ?? 'running') : 'running';
};

export function StateBadge({ state }: { readonly state: string }) {
  return <span class={`badge tone-${toneOf(state)}`}>{state}</span>;
}

const FLAGS: Readonly<Record<string, { readonly text: string; readonly title: string }>> = {
  worker_lost: { text: 'worker lost', title: 'The heartbeats of its worker have stopped.' },
  overdue: { text: 'overdue', title: 'Its eta has passed and it has not started.' },
  never_received: { text: 'never received', title: 'It was sent, yet is in no queue and on no worker.' },
};

/** What is wrong with a task beyond its state. */
export function Flags({ flags }: { readonly flags: readonly string[] }) {
  return (
    <>
      {flags.map((flag) => (
        <span key={flag} class="badge tone-failure outlined" title={FLAGS[flag]?.title}>
          {FLAGS[flag]?.text ?? flag}
        </span>
      ))}
    </>
  );
}

const STATUS_TONES: Readonly<Record<string, string>> = {
  online: 'success',
  up: 'success',
  pass: 'success',
  stale: 'retry',
  unknown: 'waiting',
  disabled: 'waiting',
  offline: 'failure',
  down: 'failure',
  fail: 'failure',
};

/** How a worker or a component is. */
export function Status({ status }: { readonly status: string }) {
  return <span class={`badge tone-${STATUS_TONES[status] ?? 'waiting'}`}>{status}</span>;
}
