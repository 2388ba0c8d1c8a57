import { type FormEvent, useId, useState } from 'react'
import { Dialog, DialogBody, DialogFoot } from '../../../../ui/app/Dialog.tsx'
import { toast } from '../../../../ui/app/toast.ts'
import { Button } from '../../../../ui/Button.tsx'
import { messageOf } from '../../../../ui/ErrorText.tsx'
import { Field } from '../../../../ui/Field.tsx'
import { TextField } from '../../../../ui/TextField.tsx'
import { parseTyped } from './json-text.ts'
import { ProtectedBox } from './ProtectedBox.tsx'
import { useSetProperty } from './use-set-property.ts'

/** Dialog that sets a property by its key. An existing property gets the new value. */
export function NewPropertyDialog({ deviceId, onClose }: { deviceId: string; onClose: () => void }) {
  const id = useId()
  const [name, setName] = useState('')
  const [text, setText] = useState('')
  const [isProtected, setProtected] = useState(false)
  const [errors, setErrors] = useState<{ name?: string; value?: string; hub?: string }>({})
  const set = useSetProperty()

  async function submit(event: FormEvent) {
    event.preventDefault()
    if (set.isPending) return
    const parsed = parseTyped(text)
    const found = {
      ...(name.trim() === '' && { name: 'Please enter a key.' }),
      ...('error' in parsed && { value: parsed.error }),
    }
    setErrors(found)
    if ('error' in parsed || found.name) return
    try {
      await set.mutateAsync({
        deviceId,
        name: name.trim(),
        value: parsed.value,
        ...(isProtected && { protected: true }),
      })
      toast(`${name.trim()} was set.`)
      onClose()
    } catch (error) {
      setErrors({ hub: messageOf(error) })
    }
  }
  return (
    <Dialog title="Set Property" busy={set.isPending} dirty={name !== '' || text !== ''} onClose={onClose}>
      <form noValidate onSubmit={submit}>
        <DialogBody>
          <TextField label="Key" required mono value={name} onChange={setName} error={errors.name} />
          <Field
            id={id}
            label="Value as JSON"
            required
            help='For example 16, "text" or { "limit": 16 }. An existing property gets this value.'
            error={errors.value ?? errors.hub}
          >
            <textarea
              id={id}
              className="input mono"
              rows={4}
              value={text}
              spellCheck={false}
              autoComplete="off"
              aria-describedby={`${id}-help`}
              aria-invalid={errors.value !== undefined || undefined}
              onChange={event => setText(event.target.value)}
            />
          </Field>
          <ProtectedBox checked={isProtected} onChange={setProtected} />
        </DialogBody>
        <DialogFoot>
          <Button disabled={set.isPending} onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" variant="primary" busy={set.isPending} busyLabel="Saving…">
            Set Property
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  )
}
