declare const styles: {
  readonly shortcuts: string
}
export default styles
