/** A value in which the part from `start` to `end`, which matches the search text, is marked. */
export function FoundText({ value, start, end }: { value: string; start: number; end: number }) {
  if (start >= end) return value
  return (
    <>
      {value.slice(0, start)}
      <mark>{value.slice(start, end)}</mark>
      {value.slice(end)}
    </>
  )
}
