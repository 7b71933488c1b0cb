import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Loading, Problem } from '../parts/problem.tsx';
import { ViewHead } from '../parts/view-head.tsx';
import type { View, ViewProps } from '../views.ts';

const loaded = new Map<View, ComponentType<ViewProps>>();

async function load(view: View): Promise<void> {
  loaded.set(view, await view.load());
}

/** Loads the code of a view before somebody opens it. */
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
    if (!loaded.has(view)) load(view).then(() => setLoaded(view), setError);
  }, [view]);
  const Content = loaded.get(view);
  if (Content !== undefined) return <Content {...props} />;
  return (
    <>
      <ViewHead title={view.title} />
      {error === null ? <Loading /> : <Problem error={error} retry={() => location.reload()} />}
    </>
  );
}
