type ProtectedBoxProps = { checked: boolean; onChange: (checked: boolean) => void }

/** Checkbox that protects a property from changes by the device. */
export function ProtectedBox({ checked, onChange }: ProtectedBoxProps) {
  return (
    <label className="check">
      <input type="checkbox" checked={checked} onChange={event => onChange(event.target.checked)} />
      <span>
        Protected <small>(optional)</small> <span className="muted">only people can change it</span>
      </span>
    </label>
  )
}
