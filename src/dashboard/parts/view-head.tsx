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
  /** What the heading says besides the title, which only screen readers and the window then say. */
  readonly heading?: ComponentChildren;
  readonly beside?: ComponentChildren;
  readonly at?: number | null;
  readonly children?: ComponentChildren;
}) {
  const { title, heading, beside, at = null, children } = props;
  useEffect(() => {
    const isFirst = shown === '';
    shown = title;
    document.title = `${title} · ${BASE_TITLE}`;
    // A reader who is typing keeps the focus.
    const isTyping = document.activeElement?.matches('input, select, textarea') === true;
    if (!isFirst && !isTyping) document.getElementById('view-title')?.focus({ preventScroll: true });
  }, [title]);
  return (
    <div class="flow view-head">
      <h1 id="view-title" tabIndex={-1}>
        {heading === undefined ? title : <span class="offscreen">{title}: </span>}
        {heading}
      </h1>
      {beside}
      <Age at={at} />
      <div class="flow view-tools end">{children}</div>
    </div>
  );
}
