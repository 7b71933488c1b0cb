import '../style/overview-lists.css';
import type { ComponentsBody, HealthBody, TaskStatsBody, WorkersBody } from '../../client.ts';
import { TopCauses } from '../failures/top-causes.tsx';
import { History } from './history.tsx';
import { Names } from './names.tsx';
import { Queues } from './queues.tsx';
import { StatusLine } from './status-line.tsx';

/** The lists below the overview's chart: causes, queues, names, and the status of each part. */
export function Lists(props: {
  readonly figures: TaskStatsBody | null;
  /** The previous period; `null`: unknown. */
  readonly before: TaskStatsBody | null;
  /** Whether each figure is compared with the previous period. */
  readonly isCompared: boolean;
  readonly components: ComponentsBody | null;
  readonly health: HealthBody | null;
  readonly workers: WorkersBody | null;
  /** Parameters of the links to the tasks. */
  readonly period: Readonly<Record<string, string>>;
}) {
  const { figures, before, isCompared, components, health, workers, period } = props;
  return (
    <>
      <div class="columns even">
        {figures !== null && <TopCauses stats={figures} before={isCompared ? before : null} />}
        <Queues components={components} before={isCompared ? before : null} />
      </div>
      {figures !== null && figures.names.length > 0 && (
        <Names
          stats={figures}
          before={before?.names ?? null}
          isCompared={isCompared && before !== null}
          period={period}
        />
      )}
      <StatusLine health={health} components={components} workers={workers} />
      <History components={components} />
    </>
  );
}
