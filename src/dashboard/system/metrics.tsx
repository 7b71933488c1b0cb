import { useMemo, useState } from 'preact/hooks';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { Empty, Loading, Problem } from '../parts/problem.tsx';
import { curlOf } from '../tasks/export.ts';
import { count, counted } from '../text/numbers.ts';

const MOST_SHOWN = 2_000;

/** Shows the exporter's metrics as text with a filter. */
export function Metrics() {
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
      <div class="panel-head">
        <h2>Metrics</h2>
        {data !== null && <span class="dim">{counted(lines.length, 'line')}</span>}
        <CopyButton label="Copy as curl" text={() => curlOf('metrics')} />
        <CopyButton text={() => lines.join('\n')} what="the lines shown" />
      </div>
      <div class="filters" role="search" aria-label="Metrics">
        <label class="field grow">
          <span>Filter</span>
          <input
            type="search"
            value={filter}
            placeholder="words in a line"
            onInput={(event) => setFilter(event.currentTarget.value)}
          />
        </label>
        <label class="check">
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
