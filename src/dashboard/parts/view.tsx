/** The heading of a view, and the state of its data: loading, missing, not up to date or impossible to read. */
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { MonitorClientError } from '../../client.ts';
import type { SourceBody } from '../../wire.ts';
import { clock } from '../live/pace.ts';
import type { Resource } from '../live/use-resource.ts';
import { useStore } from '../store.ts';
import { duration, millis } from '../text/format.ts';
import { Age } from './inline.tsx';

const BASE_TITLE = document.title;
let shown = '';

/**
 * The heading of a view. It takes the focus when the view opens, so that screen readers announce the view.
 */
export function ViewHead(props: {
  readonly title: string;
  /** What the heading says besides the title, which only screen readers and the window then say. */
  readonly heading?: ComponentChildren;
  readonly beside?: ComponentChildren;
  readonly at?: number | null;
  readonly children?: ComponentChildren;
}) {
  const { title, heading, beside, at = null, children } = props;
  useEffect(() => {
    const isFirst = shown === '';
    shown = title;
    document.title = `${title} · ${BASE_TITLE}`;
    // A reader who is typing keeps the focus.
    const isTyping = document.activeElement?.matches('input, select, textarea') === true;
    if (!isFirst && !isTyping) document.getElementById('view-title')?.focus({ preventScroll: true });
  }, [title]);
  return (
    <div class="flow view-head">
      <h1 id="view-title" tabIndex={-1}>
        {heading === undefined ? title : <span class="offscreen">{title}: </span>}
        {heading}
      </h1>
      {beside}
      <Age at={at} />
      <div class="flow view-tools end">{children}</div>
    </div>
  );
}

/** Explains an error to the reader. @param what the data that could not be read, as in "Could not read tasks" */
export function Problem(props: {
  readonly error: unknown;
  readonly what?: string;
  readonly retry?: () => void;
}) {
  const { error, what = 'this', retry } = props;
  const { reason, hint } = describe(error);
  return (
    <div class="notice tone-failure" role="alert">
      <div>
        <strong>
          Could not read {what}: {reason}
        </strong>
        {hint !== null && <div>{hint}</div>}
      </div>
      {retry !== undefined && (
        <button type="button" class="small" onClick={retry}>
          Try now
        </button>
      )}
    </div>
  );
}

const RETRIES = 'The page retries automatically.';

const HINTS: Readonly<Record<string, string>> = {
  source_not_configured: 'No source is configured for this data. Add one to sources in createMonitorRouter.',
  metrics_disabled: 'Set metrics in createMonitorRouter to the URL of the exporter.',
  source_unavailable: RETRIES,
  source_timeout: RETRIES,
  overloaded: RETRIES,
  unauthorized: 'Sign in to the app, then load this page again.',
  forbidden: "The app's authorize function refused this request.",
};

function describe(error: unknown): { readonly reason: string; readonly hint: string | null } {
  if (!(error instanceof MonitorClientError))
    return { reason: `the answer is invalid. ${String(error)}`, hint: null };
  if (error.status === null) return { reason: 'the monitor does not answer.', hint: RETRIES };
  const faults = error.problem?.errors?.map(({ parameter, detail }) => `${parameter}: ${detail}`).join(' ');
  const isBusy = error.status === 429 || error.status >= 500;
  return { reason: error.message, hint: faults ?? HINTS[error.code ?? ''] ?? (isBusy ? RETRIES : null) };
}

/** Whether an error has this code of the API. */
export const isProblem = (error: unknown, code: string): boolean =>
  error instanceof MonitorClientError && error.code === code;

/** Explains why a list is empty and what to do. */
export function Empty(props: { readonly title: string; readonly children?: ComponentChildren }) {
  const { title, children } = props;
  return (
    <div class="empty">
      <strong>{title}</strong>
      {children !== undefined && <div>{children}</div>}
    </div>
  );
}

/** Explains why there are no figures, and what the host writes to have them. */
export function NoStats() {
  return (
    <Empty title="No statistics">
      A source of tasks has no <code>getTaskStats</code>. For tasks in memory, one line adds it:{' '}
      <code>{'getTaskStats: (query) => summarizeTasks(tasks, query)'}</code>
    </Empty>
  );
}

/** How many parts a view has until its data is loaded, by what they are. */
const PARTS = { rows: 8, charts: 3, cards: 4 } as const;
export type Shape = keyof typeof PARTS;

/** The shape of a view without data, until the first data is loaded. Default: a table. */
export function Loading({ shape = 'rows' }: { readonly shape?: Shape | undefined }) {
  return (
    <div class={shape === 'rows' ? 'loading rows box' : `loading ${shape}`} role="status">
      <span class="offscreen">Loading …</span>
      {Array.from({ length: PARTS[shape] }, (_, part) => (
        <i key={part} class="box" />
      ))}
    </div>
  );
}

const WHY: Readonly<Record<string, string>> = {
  source_unavailable: 'does not answer',
  source_timeout: 'does not answer in time',
  source_invalid: 'returned invalid data',
  overloaded: 'receives too many requests',
};

/** Lists the sources with stale data, each with the reason and the age of its data. */
export function Sources({ sources }: { readonly sources: readonly SourceBody[] | undefined }) {
  const away = (sources ?? []).filter(({ ok }) => !ok);
  if (away.length === 0) return null;
  return (
    <div class="notice tone-retry" role="status">
      <div>
        {away.map(({ name, error, as_of }) => (
          <div key={name}>
            <b>{name}</b> {WHY[error ?? ''] ?? 'is not up to date'}; its data is <DataAge at={as_of} />.
          </div>
        ))}
      </div>
    </div>
  );
}

function DataAge({ at }: { readonly at: string | null }) {
  const now = useStore(clock);
  const value = millis(at);
  if (value === null) return <>missing</>;
  const ms = Math.max(0, Math.floor((now - value) / 1_000) * 1_000);
  return <>{duration(ms).replace('.0', '')} old</>;
}

/**
 * The state shown above the data of a view: that it could not be read, which sources are not up to date, or that it is
 * loading.
 */
export function ReadState(props: {
  /** The data that is read, as in "Could not read tasks". */
  readonly what: string;
  readonly of: Resource<{ readonly sources?: readonly SourceBody[] }>;
  readonly shape?: Shape;
}) {
  const { what, of, shape } = props;
  const { data, error, reload } = of;
  // If the monitor does not answer, the page itself says that the shown data is old.
  const isSaid = data !== null && error instanceof MonitorClientError && error.status === null;
  return (
    <>
      {error !== null && !isSaid && <Problem what={what} error={error} retry={reload} />}
      <Sources sources={data?.sources} />
      {data === null && error === null && <Loading shape={shape} />}
    </>
  );
}
