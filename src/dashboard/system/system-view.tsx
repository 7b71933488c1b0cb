import '../style/system.css';
import { useMemo, useState } from 'preact/hooks';
import type { ComponentBody, RuleBody } from '../../wire.ts';
import { hintsOf } from '../findings.ts';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { dismissed, toggleDismissed } from '../page-state.ts';
import { Facts, Status } from '../parts/facts.tsx';
import { CopyButton, Moment } from '../parts/inline.tsx';
import { Empty, Loading, Problem, ReadState, ViewHead } from '../parts/view.tsx';
import { useStore } from '../store.ts';
import { curlOf } from '../tasks/export.ts';
import { bytes, count, counted } from '../text/format.ts';

/** The components that the monitor is connected to, their settings, and the exporter's metrics if there is one. */
export function SystemView() {
  const resource = useResource('components', (signal) => client.components({ signal }), { every: 10_000 });
  const { data, at } = resource;
  const hasExporter = data?.metrics !== undefined && data.metrics.status !== 'disabled';
  return (
    <>
      <ViewHead title="System" at={at} />
      <ReadState what="the system" shape="cards" of={{ ...resource, data: data === null ? null : {} }} />
      {data !== null && (
        <div class="system-parts">
          {Object.entries(data).map(([key, component]) => (
            <Component key={key} name={key} component={component} />
          ))}
        </div>
      )}
      {hasExporter && <Metrics />}
    </>
  );
}

const MOST_SHOWN = 2_000;

/** Shows the exporter's metrics as text with a filter. */
function Metrics() {
  const [filter, setFilter] = useState('');
  const [hidesComments, setHidesComments] = useState(true);
  const { data, error, reload } = useResource('metrics', (signal) => client.metrics({}, { signal }));
  const lines = useMemo(() => {
    const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
    return (data ?? '').split('\n').filter((line) => {
      if (line === '' || (hidesComments && line.startsWith('#'))) return false;
      const text = line.toLowerCase();
      return words.every((word) => text.includes(word));
    });
  }, [data, filter, hidesComments]);

  return (
    <section class="panel system-metrics" aria-label="Metrics">
      <div class="flow panel-head">
        <h2>Metrics</h2>
        {data !== null && <span class="dim">{counted(lines.length, 'line')}</span>}
        <CopyButton label="Copy as curl" text={() => curlOf('metrics')} />
        <CopyButton text={() => lines.join('\n')} what="the lines shown" />
      </div>
      <div class="flow filters" role="search" aria-label="Metrics">
        <label class="field grow">
          <span>Filter</span>
          <input
            type="search"
            value={filter}
            placeholder="words in a line"
            onInput={(event) => setFilter(event.currentTarget.value)}
          />
        </label>
        <label class="line check">
          <input
            type="checkbox"
            checked={!hidesComments}
            onChange={(event) => setHidesComments(!event.currentTarget.checked)}
          />
          Help and types
        </label>
      </div>
      {error !== null && <Problem what="metrics" error={error} retry={reload} />}
      {data === null && error === null && <Loading />}
      {data !== null && lines.length === 0 && <Empty title="No line matches" />}
      {lines.length > 0 && (
        <pre class="metrics" tabIndex={0} role="region" aria-label="Series">
          {lines.slice(0, MOST_SHOWN).join('\n')}
          {lines.length > MOST_SHOWN && `\n… ${count(lines.length - MOST_SHOWN)} more: filter to see them`}
        </pre>
      )}
    </section>
  );
}

/** A component of the deployment with its settings. */
function Component({ name: key, component }: { readonly name: string; readonly component: ComponentBody }) {
  const { name, status, pid, url, config, queues, rules } = component;
  const hints = hintsOf(config);
  const hidden = useStore(dismissed);
  const settings = Object.entries(config ?? {}).filter(([setting]) => !/^hint(?:s|_codes)$/.test(setting));
  const facts = [
    ['URL', url !== null && <Url url={url} />],
    ['Process', pid],
    [
      'Queues',
      queues && (queues.map((queue) => `${queue.name} (${waiting(queue.waiting)})`).join(', ') || 'none'),
    ],
    ['Checks', rules && `${rules.filter(hasRun).length} of ${count(rules.length)} ran`],
    ...settings.map(
      ([setting, value]) =>
        [setting.replaceAll('_', ' '), <Setting key={setting} name={setting} value={value} />] as const,
    ),
  ] as const;
  return (
    <section class="panel" aria-label={key}>
      <div class="flow panel-head">
        <h2 class="wrap">{name}</h2>
        <Status status={status} />
        {key !== name && <span class="dim mono">{key}</span>}
      </div>
      {hints.map((hint) => (
        <div key={hint} class="notice tone-retry">
          <div>{hint}</div>
          <CopyButton text={hint} what="hint" />
          {hidden.includes(hint) && (
            <button type="button" class="small" onClick={() => toggleDismissed(hint)}>
              Show on the overview
            </button>
          )}
        </div>
      ))}
      <Facts facts={facts} isWide />
    </section>
  );
}

const hasRun = ({ status }: RuleBody): boolean => status !== 'unknown';

const waiting = (value: number | null): string =>
  value === null ? 'unknown' : counted(value, 'waiting', 'waiting');

/**
 * Links http(s) addresses only. Anything else, such as a `javascript:` URL from a source, is shown as text.
 */
function Url({ url }: { readonly url: string }) {
  if (!/^(?:https?:\/\/|\/(?!\/))/i.test(url)) return <span class="mono wrap">{url}</span>;
  return (
    <a class="wrap" href={url} rel="noreferrer">
      {url}
    </a>
  );
}

/** Settings for which `null` has a special meaning; for all others it means "unknown". */
const MEANING_OF_NULL: Readonly<Record<string, string>> = {
  error: 'none',
  code: 'none',
  connected_to: 'nothing',
  lock_age_seconds: 'none',
  lost_at: 'never',
  last_write: 'never',
  leader: 'nobody',
};

function Setting({ name, value }: { readonly name: string; readonly value: unknown }) {
  if (value === null || value === undefined) {
    return <span class="dim">{MEANING_OF_NULL[name] ?? 'unknown'}</span>;
  }
  if (typeof value === 'boolean') return <>{value ? 'yes' : 'no'}</>;
  if (typeof value === 'number') return <>{name === 'bytes' ? bytes(value) : count(value)}</>;
  if (typeof value === 'string') {
    return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? (
      <Moment at={value} />
    ) : (
      <span class="wrap">{value}</span>
    );
  }
  if (!Array.isArray(value)) return <span class="wrap">{plainText(value)}</span>;
  if (value.length === 0) return <span class="dim">none</span>;
  return (
    <ul class="names">
      {value.map((item, index) => (
        // Settings have no identity other than their index.
        <li key={index}>{plainText(item)}</li>
      ))}
    </ul>
  );
}

/** Writes nested settings without JSON punctuation. */
function plainText(value: unknown): string {
  if (value === null || value === undefined) return '–';
  if (Array.isArray(value)) return value.map(plainText).join(', ') || 'none';
  if (typeof value !== 'object') return String(value);
  return Object.entries(value)
    .map(
      ([name, part]) =>
        `${name.replaceAll('_', ' ')} ${typeof part === 'object' && part !== null ? `(${plainText(part)})` : plainText(part)}`,
    )
    .join(', ');
}
