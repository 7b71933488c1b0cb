import type { ComponentChildren } from 'preact';
import { count } from '../text/format.ts';

/** A list of facts, without those that are unknown or do not apply. */
export function Facts(props: {
  readonly facts: readonly (readonly [name: string, value: ComponentChildren])[];
  /** Whether the names are long. Default false. */
  readonly isWide?: boolean;
}) {
  const { facts, isWide = false } = props;
  return (
    <dl class={isWide ? 'facts wide' : 'facts'}>
      {facts.map(
        ([name, value]) =>
          value && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** One figure in a row of figures. One that does not apply is a dash, so that all stand in line. */
export function Tile({ name, value }: { readonly name: string; readonly value: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="num">{value || '–'}</dd>
    </div>
  );
}

/** Links, most of them with a number, under a heading. */
export function CountedLinks(props: {
  readonly title: string;
  readonly items: readonly {
    readonly text: string;
    readonly link: string;
    readonly count?: number;
    /** The link to what was counted. Default: none. */
    readonly rows?: string;
  }[];
  /** What is said if there are none. */
  readonly none?: string;
}) {
  const { title, items, none } = props;
  return (
    <>
      <h2>{title}</h2>
      {items.length === 0 && <p class="dim">{none}</p>}
      <ul class="counted-links" aria-label={title} hidden={items.length === 0}>
        {items.map(({ text, link, count: number, rows }) => (
          <li key={text} class="line">
            <a class="wrap" href={link}>
              {text}
            </a>
            {number !== undefined && (
              <span class="num">
                {rows === undefined ? count(number) : <a href={rows}>{count(number)}</a>}
              </span>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}
