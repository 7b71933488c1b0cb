import { render } from 'preact';
import { listenToKeys } from './frame/keys.ts';
import { type Branding, readBranding, Shell } from './frame/shell.tsx';
import { watchConnection } from './live/connection.ts';
import { startFeed } from './live/feed.ts';
import { Empty, ViewHead } from './parts/view.tsx';
import { currentRoute, linkTo } from './route.ts';
import { soon } from './slices.ts';
import { useStore } from './store.ts';
import { viewOf } from './views.tsx';

/** The page: the frame and the current view. */
function App({ branding }: { readonly branding: Branding }) {
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

const root = document.getElementById('app');
if (root !== null) {
  const branding = readBranding(root);
  root.replaceChildren();
  listenToKeys();
  // In separate tasks, because compiling the code has already taken one.
  soon(() => {
    render(<App branding={branding} />, root);
    soon(() => {
      watchConnection();
      startFeed();
    });
  });
}
