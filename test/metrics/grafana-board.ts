/** The dashboard in `docs/grafana`, as tests read it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../packaging/packed.ts';

/** A panel or a row. */
interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}

/** The dashboard. */
export interface Board {
  readonly panels: readonly Panel[];
  /** What the panels ask of Prometheus. */
  readonly queries: readonly string[];
  /** What the variables ask. */
  readonly variables: readonly string[];
}

export function readBoard(): Board {
  const text = readFileSync(join(ROOT, 'docs/grafana/task-monitor.json'), 'utf8');
  const { panels, templating } = JSON.parse(text) as {
    readonly panels: readonly Panel[];
    readonly templating: { readonly list: readonly { readonly definition?: string }[] };
  };
  return {
    panels,
    queries: panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    variables: templating.list.flatMap(({ definition }) => definition ?? []),
  };
}

/** A query as Grafana sends it when everything is selected. @param window of rates */
export function withoutVariables(query: string, window = '1m'): string {
  return query
    .replaceAll('$__rate_interval', window)
    .replaceAll('job="$job"', 'job=~".*"')
    .replaceAll(/"\$\w+"/g, '".*"');
}
