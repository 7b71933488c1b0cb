import { type Lazy, lazy } from '../parts/lazy.tsx';
import { Empty, Loading } from '../parts/problem.tsx';
import { ViewHead } from '../parts/view-head.tsx';
import type { View, ViewProps } from '../views.ts';

const contents = new Map<View, Lazy<ViewProps>>();

/** The content of a view, whose code is loaded when it is opened. */
export function contentOf(view: View): Lazy<ViewProps> {
  const known = contents.get(view);
  if (known !== undefined) return known;
  const content = lazy(view.load, (_, error) => (
    <>
      <ViewHead title={view.title} />
      {error === null ? <Loading shape={view.shape} /> : <Unloaded />}
    </>
  ));
  contents.set(view, content);
  return content;
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
