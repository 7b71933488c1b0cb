import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { loadCode } from '../load-code.ts';

/** A part of a view whose code is loaded when it is first shown. Until then it is empty. */
export function lazy<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null;
  return function Lazy(props: Props) {
    const [Part, setPart] = useState(() => loaded);
    useEffect(() => {
      const show = (part: ComponentType<Props>): void => {
        loaded = part;
        setPart(() => part);
      };
      // It may have been loaded elsewhere since this was rendered.
      if (loaded !== null) return show(loaded);
      // If it fails, the frame says so, and the part is loaded when it is shown again.
      loadCode(load).then(show, () => {});
    }, []);
    return Part === null ? null : <Part {...props} />;
  };
}
