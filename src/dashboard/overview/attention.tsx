import type { Finding } from './findings.ts';

/** Lists what is wrong, or says that nothing is. */
export function Attention({
  findings,
  isKnown,
}: {
  readonly findings: readonly Finding[];
  readonly isKnown: boolean;
}) {
  if (findings.length === 0) {
    return isKnown ? (
      <p class="all-well tone-success">Nothing is wrong as far as this monitor can see.</p>
    ) : null;
  }
  return (
    <section aria-label="Needs attention">
      <ul class="findings">
        {findings.map(({ tone, title, detail, link }) => (
          <li key={`${title} ${detail}`} class={`notice tone-${tone}`}>
            <div>
              <strong>{title}</strong>
              {detail !== null && <span class="dim"> {detail}</span>}
            </div>
            {link !== null && (
              <a class="button small" href={link} aria-label={`Look: ${title}`}>
                Look
              </a>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
