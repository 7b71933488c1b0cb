import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/**
 * A dialog over the page, open as long as it is rendered. The browser keeps the focus inside, and then returns it to
 * the previous element.
 */
export function Dialog(props: {
  readonly id: string;
  readonly title: string;
  /** Text of the button that closes the dialog. */
  readonly done: string;
  /** Called when it is closed: by its button, by Esc or by a click outside. */
  readonly onClose: () => void;
  readonly class?: string;
  readonly children: ComponentChildren;
}) {
  const { id, title, done, onClose, children } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const close = (): void => dialog.current?.close();
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Esc closes it
    <dialog
      ref={dialog}
      class={props.class}
      aria-labelledby={id}
      onClose={onClose}
      onClick={({ target }) => target === dialog.current && close()}
    >
      <div class="dialog-content">
        <div class="line dialog-head">
          <h2 id={id}>{title}</h2>
          <button type="button" onClick={close}>
            {done}
          </button>
        </div>
        {children}
      </div>
    </dialog>
  );
}
