import type { Branding } from './branding.ts';
import { LazyView } from './frame/lazy-view.tsx';
import { Shell } from './frame/shell.tsx';
import { Empty } from './parts/problem.tsx';
import { ViewHead } from './parts/view-head.tsx';
import { currentRoute, linkTo } from './route.ts';
import { useStore } from './store.ts';
import { viewOf } from './views.ts';

/** The page: the frame and the current view. */
export function App({ branding }: { readonly branding: Branding }) {
  const here = useStore(currentRoute);
  const view = viewOf(here);
  return (
    <Shell branding={branding} view={view}>
      {view === undefined ? (
        <>
          <ViewHead title="Not found" />
          <Empty title="This page does not exist">
            <a href={linkTo('')}>Overview</a>
          </Empty>
        </>
      ) : (
        <LazyView key={`${view.path} ${here.id}`} view={view} id={here.id} query={here.query} />
      )}
    </Shell>
  );
}
