import '../style/counted-links.css';
import { count } from '../text/numbers.ts';

/** Links, most of them with a number, under a heading. */
export function CountedLinks(props: {
  readonly title: string;
  readonly items: readonly { readonly text: string; readonly link: string; readonly count?: number }[];
}) {
  const { title, items } = props;
  return (
    <>
      <h2>{title}</h2>
      <ul class="counted-links" aria-label={title}>
        {items.map(({ text, link, count: number }) => (
          <li key={text}>
            <a class="wrap" href={link}>
              {text}
            </a>
            {number !== undefined && <span class="num">{count(number)}</span>}
          </li>
        ))}
      </ul>
    </>
  );
}
