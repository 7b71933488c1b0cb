import type { ComponentChildren } from 'preact';

/** One line of a list of facts. */
export function Fact({ name, value }: { readonly name: string; readonly value: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
