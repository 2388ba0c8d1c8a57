declare const styles: {
  readonly password: string
}
export default styles
