import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

/** A tab and what it shows. */
export interface Tab {
  /** Identifies it in the address. */
  readonly id: string;
  readonly title: string;
  readonly content: () => ComponentChildren;
}

/** Movements by key: by a number of tabs, or to the first or last one. */
const MOVES: Readonly<Record<string, (index: number, count: number) => number>> = {
  ArrowLeft: (index, count) => (index - 1 + count) % count,
  ArrowRight: (index, count) => (index + 1) % count,
  Home: () => 0,
  End: (_, count) => count - 1,
};

/** Tabs as ARIA describes them: one tab stop, arrow keys choose. @param chosen an unknown id chooses the first tab */
export function Tabs(props: {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly chosen: string | null;
  readonly onChoose: (id: string) => void;
}) {
  const { label, tabs, chosen, onChoose } = props;
  const prefix = useId();
  const list = useRef<HTMLDivElement>(null);
  const index = Math.max(
    0,
    tabs.findIndex(({ id }) => id === chosen),
  );
  const tab = tabs[index];
  // On a phone the tabs may not fit.
  useEffect(() => {
    const [row, place] = [list.current, list.current?.children[index]?.getBoundingClientRect()];
    if (row == null || place === undefined) return;
    const { left, right } = row.getBoundingClientRect();
    row.scrollLeft += Math.max(0, place.right - right) - Math.max(0, left - place.left);
  }, [index, tabs.length]);
  if (tab === undefined) return null;
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = Object.hasOwn(MOVES, event.key) ? MOVES[event.key]?.(index, tabs.length) : undefined;
    const target = next === undefined ? undefined : tabs[next];
    if (next === undefined || target === undefined) return;
    event.preventDefault();
    onChoose(target.id);
    (list.current?.children[next] as HTMLElement | undefined)?.focus();
  };
  return (
    <div class="tabbed">
      <div class="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={onKeyDown}>
        {tabs.map(({ id, title }) => (
          <button
            key={id}
            type="button"
            role="tab"
            id={`${prefix}-${id}`}
            aria-selected={id === tab.id}
            aria-controls={`${prefix}-panel`}
            tabIndex={id === tab.id ? 0 : -1}
            onClick={() => onChoose(id)}
          >
            {title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${prefix}-panel`} aria-labelledby={`${prefix}-${tab.id}`} tabIndex={0}>
        {tab.content()}
      </div>
    </div>
  );
}
