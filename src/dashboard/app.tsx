import { type Branding, Shell } from './frame/shell.tsx';

import { Empty } from './parts/problem.tsx';
import { ViewHead } from './parts/view-head.tsx';
import { currentRoute, linkTo } from './route.ts';
import { useStore } from './store.ts';
import { viewOf } from './views.tsx';

/** The page: the frame and the current view. */
export function App({ branding }: { readonly branding: Branding }) {
  const here = useStore(currentRoute);
  const view = viewOf(here);
  const Content = view?.content;
  return (
    <Shell branding={branding} view={view}>
      {view === undefined || Content === undefined ? (
        <>
          <ViewHead title="Not found" />
          <Empty title="This page does not exist">
            <a href={linkTo('')}>Overview</a>
          </Empty>
        </>
      ) : (
        <Content key={`${view.path} ${here.id}`} id={here.id} query={here.query} />
      )}
    </Shell>
  );
}
