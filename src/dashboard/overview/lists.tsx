import '../style/overview-lists.css';
import type { ComponentsBody, HealthBody, TaskStatsBody, WorkersBody } from '../../client.ts';
import { TopCauses } from '../failures/top-causes.tsx';
import { History } from './history.tsx';
import { Names } from './names.tsx';
import { Queues } from './queues.tsx';
import { StatusLine } from './status-line.tsx';

/** What the overview lists below its chart: causes, queues, names, and what is up. */
export function Lists(props: {
  readonly figures: TaskStatsBody | null;
  /** The period before; `null`: not known. */
  readonly before: TaskStatsBody | null;
  /** Whether each figure stands beside that of the period before. */
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
          names={figures.names}
          before={before?.names ?? null}
          isCompared={isCompared && before !== null}
          period={period}
        />
      )}
      <StatusLine {...{ health, components, workers }} />
      <History components={components} />
    </>
  );
}
