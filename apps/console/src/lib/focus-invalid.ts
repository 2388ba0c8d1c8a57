/**
 * Number of animation frames in which `focusInvalid` looks for an invalid field. React may not have rendered the errors of a
 * rejected form in the first frame.
 */
const FRAMES_UNTIL_RENDERED = 10

/** Moves the focus to the first invalid field of a form, as soon as it is rendered. */
export function focusInvalid(form: HTMLFormElement, framesLeft = FRAMES_UNTIL_RENDERED) {
  requestAnimationFrame(() => {
    const field = form.querySelector<HTMLElement>('[aria-invalid=true]')
    if (field) field.focus()
    else if (framesLeft > 1) focusInvalid(form, framesLeft - 1)
  })
}
