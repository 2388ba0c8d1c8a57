declare const styles: {
  readonly error: string
  readonly large: string
}
export default styles
