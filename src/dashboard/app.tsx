import type { Branding } from './branding.ts';
import { ComponentsView } from './components/components-view.tsx';
import { WorkflowView } from './graph/workflow-view.tsx';
import { MetricsView } from './metrics/metrics-view.tsx';
import { OverviewView } from './overview/overview-view.tsx';
import { Empty } from './parts/problem.tsx';
import { ViewHead } from './parts/view-head.tsx';
import { currentRoute, linkTo, type Route } from './route.ts';
import { SchedulesView } from './schedules/schedules-view.tsx';
import { Shell } from './shell.tsx';
import { useStore } from './store.ts';
import { TaskView } from './task/task-view.tsx';
import { TasksView } from './tasks/tasks-view.tsx';
import { WorkersView } from './workers/workers-view.tsx';

/** The page: the frame and the current view. */
export function App({ branding }: { readonly branding: Branding }) {
  const here = useStore(currentRoute);
  return (
    <Shell branding={branding} view={here.view}>
      <View here={here} />
    </Shell>
  );
}

function View({ here }: { readonly here: Route }) {
  switch (here.view) {
    case 'overview':
      return <OverviewView query={here.query} />;
    case 'workers':
      return <WorkersView />;
    case 'schedules':
      return <SchedulesView />;
    case 'components':
      return <ComponentsView />;
    case 'metrics':
      return <MetricsView />;
    case 'tasks':
      return <TasksView query={here.query} />;
    case 'task':
      return <TaskView key={here.id} id={here.id} source={here.query.get('source')} />;
    case 'workflow':
      return <WorkflowView id={here.id} query={here.query} />;
    default:
      return (
        <>
          <ViewHead title="Not found" />
          <Empty title="This page does not exist">
            <a href={linkTo('')}>Overview</a>
          </Empty>
        </>
      );
  }
}
