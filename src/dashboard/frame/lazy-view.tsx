import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { loadCode } from '../load-code.ts';
import { Empty, Loading } from '../parts/problem.tsx';
import { ViewHead } from '../parts/view-head.tsx';
import { soon } from '../slices.ts';
import type { View, ViewProps } from '../views.ts';

const loaded = new Map<View, ComponentType<ViewProps>>();

async function load(view: View): Promise<void> {
  loaded.set(view, await loadCode(view.load));
}

/** Loads the code of a view before it is opened. */
export function preload(view: View): void {
  // A failure is shown when the view is opened.
  if (!loaded.has(view)) load(view).catch(() => {});
}

/** A view, once its code is loaded. */
export function LazyView({ view, ...props }: ViewProps & { readonly view: View }) {
  const [, setLoaded] = useState<View | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    setError(null);
    // It may have been preloaded since this was rendered.
    if (loaded.has(view)) setLoaded(view);
    // Rendered in a separate task, so that it does not prolong the one that compiles the view's code.
    else load(view).then(() => soon(() => setLoaded(view)), setError);
  }, [view]);
  const Content = loaded.get(view);
  if (Content !== undefined) return <Content {...props} />;
  return (
    <>
      <ViewHead title={view.title} />
      {error === null ? <Loading /> : <Unloaded />}
    </>
  );
}

/** Shown if code cannot be loaded: file names of the page change with each version. */
function Unloaded() {
  return (
    <div role="alert">
      <Empty title="This view could not be loaded. The app may have been updated.">
        <button type="button" onClick={() => location.reload()}>
          Reload the page
        </button>
      </Empty>
    </div>
  );
}
