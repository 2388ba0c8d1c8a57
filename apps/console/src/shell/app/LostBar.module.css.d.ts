declare const styles: {
  readonly bar: string
  readonly restored: string
}
export default styles
