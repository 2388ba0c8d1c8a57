declare const styles: {
  readonly columns: string
  readonly form: string
  readonly head: string
  readonly once: string
}
export default styles
