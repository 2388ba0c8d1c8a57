declare const styles: {
  readonly countdown: string
  readonly name: string
  readonly note: string
  readonly reason: string
  readonly refused: string
  readonly row: string
  readonly toasts: string
  readonly undo: string
  readonly words: string
}
export default styles
