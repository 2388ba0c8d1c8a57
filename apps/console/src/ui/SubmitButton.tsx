import { type AnyFormApi, useStore } from '@tanstack/react-form'
import type { ComponentProps } from 'react'
import { Button } from './Button.tsx'

type SubmitButtonProps = Pick<ComponentProps<typeof Button>, 'size' | 'children'> & {
  /** A form of `useTextForm`. */
  form: Pick<AnyFormApi, 'store'>
  /** What it says while the form is being sent, for example "Saving…". */
  busyLabel: string
}

/** The button of a form: disabled after a failed validation until that is mended, busy while it is being sent (decisions). */
export function SubmitButton({ form, ...rest }: SubmitButtonProps) {
  const { isSubmitting, canSubmit } = useStore(form.store)
  return (
    <Button
      type="submit"
      variant="primary"
      disabled={!canSubmit && !isSubmitting}
      busy={isSubmitting}
      {...rest}
    />
  )
}
