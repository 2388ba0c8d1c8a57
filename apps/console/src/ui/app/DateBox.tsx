type DateBoxProps = {
  label: string
  /** A day as `YYYY-MM-DD`, or an empty text. */
  value: string
  onChange: (value: string) => void
}

/** A date filter with its label beside it. */
export function DateBox({ label, value, onChange }: DateBoxProps) {
  return (
    <label className="datebox">
      <span>{label}</span>
      <input className="input" type="date" value={value} onChange={event => onChange(event.target.value)} />
    </label>
  )
}
