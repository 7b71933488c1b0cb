import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { currentRoute } from '../route.ts';
import { useStore } from '../store.ts';

/** A button that opens a panel. The panel closes by Esc, by a click elsewhere and when another view opens. */
export function Popover(props: {
  readonly id: string;
  /** The content of the button. */
  readonly text: ComponentChildren;
  /** The name of the button and the panel for screen readers. */
  readonly label: string;
  readonly class?: string;
  /** Whether the current view is one of those in the panel. Default false. */
  readonly isCurrent?: boolean;
  /** Rendered while it is open. */
  readonly children: ComponentChildren;
}) {
  const { id, text, label, isCurrent = false, children } = props;
  const panel = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const here = useStore(currentRoute);
  useEffect(() => {
    if (panel.current?.matches(':popover-open')) panel.current.hidePopover();
  }, [here]);
  return (
    <>
      <button
        type="button"
        class={props.class}
        popoverTarget={id}
        aria-expanded={isOpen}
        aria-label={label}
        aria-current={isCurrent ? 'page' : undefined}
      >
        {text}
      </button>
      <div
        id={id}
        ref={panel}
        class="box popover"
        popover="auto"
        role="dialog"
        aria-label={label}
        onToggle={(event) => setOpen(event.newState === 'open')}
      >
        {isOpen && children}
      </div>
    </>
  );
}
