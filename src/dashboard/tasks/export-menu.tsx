import { useRef, useState } from 'preact/hooks';
import { CopyButton } from '../parts/copy-button.tsx';
import { count } from '../text/numbers.ts';
import { curlOf, download, MOST_EXPORTED, readAll, toCsv } from './export.ts';
import { listQuery } from './list-query.ts';

/** Exports the list as a command, as CSV or as JSON. */
export function ExportMenu({ query }: { readonly query: URLSearchParams }) {
  const [said, setSaid] = useState<string | null>(null);
  const running = useRef<AbortController | null>(null);

  async function save(kind: 'csv' | 'json'): Promise<void> {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    setSaid('Reading …');
    try {
      const rows = await readAll(listQuery(query), (so) => setSaid(`${count(so)} read …`), controller.signal);
      if (controller.signal.aborted) return;
      const name = `tasks-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}.${kind}`;
      if (kind === 'csv') download(name, 'text/csv', toCsv(rows));
      else download(name, 'application/json', JSON.stringify(rows, null, 1));
      const isAll = rows.length < MOST_EXPORTED;
      setSaid(`${count(rows.length)} saved${isAll ? '' : ', the rest omitted'}`);
    } catch (error) {
      if (!controller.signal.aborted) setSaid(`Failed: ${error instanceof Error ? error.message : ''}`);
    }
    if (running.current === controller) running.current = null;
  }

  return (
    <>
      {said !== null && (
        <span class="dim" role="status">
          {said}
        </span>
      )}
      {running.current !== null && (
        <button
          type="button"
          class="small"
          onClick={() => {
            running.current?.abort();
            running.current = null;
            setSaid('Stopped');
          }}
        >
          Stop
        </button>
      )}
      <CopyButton label="Copy as curl" text={() => curlOf('api/tasks/', listQuery(query))} />
      <button type="button" class="small" onClick={() => void save('csv')}>
        CSV
      </button>
      <button type="button" class="small" onClick={() => void save('json')}>
        JSON
      </button>
    </>
  );
}
