declare const styles: {
  readonly actions: string
  readonly bar: string
  readonly divider: string
  readonly keys: string
  readonly link: string
  readonly low: string
  readonly selected: string
  readonly wrapped: string
}
export default styles
