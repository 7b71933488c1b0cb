import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { Age } from './age.tsx';

const BASE_TITLE = document.title;
let shown = '';

/**
 * The heading of a view. It takes the focus when the view opens, so that screen readers announce the view.
 */
export function ViewHead(props: {
  readonly title: string;
  readonly at?: number | null;
  readonly children?: ComponentChildren;
}) {
  const { title, at = null, children } = props;
  useEffect(() => {
    const isFirst = shown === '';
    shown = title;
    document.title = `${title} · ${BASE_TITLE}`;
    // A reader who is typing keeps the focus.
    const isTyping = document.activeElement?.matches('input, select, textarea') === true;
    if (!isFirst && !isTyping) document.getElementById('view-title')?.focus({ preventScroll: true });
  }, [title]);
  return (
    <div class="view-head">
      <h1 id="view-title" tabIndex={-1}>
        {title}
      </h1>
      <Age at={at} />
      <div class="view-tools">{children}</div>
    </div>
  );
}
