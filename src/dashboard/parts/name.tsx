/** A dotted name, cut at its beginning where there is not enough room: its end tells more. */
export function Name({ text }: { readonly text: string }) {
  return (
    <span class="cut" title={text}>
      <bdi>{text}</bdi>
    </span>
  );
}
