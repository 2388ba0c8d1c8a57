declare const styles: {
  readonly failures: string
  readonly reason: string
}
export default styles
