/** Passkeys: between the API, which speaks base64url, and the browser, which speaks bytes. */

export type Offer = { challenge: string; options: Record<string, unknown> };
/** The options as the API writes them: what is bytes for the browser is text. */
type Written<Options> = Omit<Options, "challenge" | "user"> & { challenge: string };
type CreationWritten = Written<PublicKeyCredentialCreationOptions> & {
  user: { id: string; name: string; displayName: string };
};
type RequestWritten = Written<PublicKeyCredentialRequestOptions>;

export const supportsPasskeys = (): boolean =>
  typeof window.PublicKeyCredential === "function" && window.isSecureContext;

const bytes = (text: string): ArrayBuffer =>
  Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (each) => each.charCodeAt(0)).buffer;
const text = (data: ArrayBuffer): string =>
  btoa(String.fromCharCode(...new Uint8Array(data)))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace(/=+$/, "");

type Described = { type: "public-key"; id: string };
const described = (known: unknown): PublicKeyCredentialDescriptor[] =>
  (known as Described[]).map((each) => ({ type: each.type, id: bytes(each.id) }));

/** Have a device make a passkey; what the API takes, without the name. */
export async function createPasskey({ challenge, options }: Offer) {
  const written = options as CreationWritten;
  const publicKey = {
    ...written,
    challenge: bytes(written.challenge),
    user: { ...written.user, id: bytes(written.user.id) },
    excludeCredentials: described(options.excludeCredentials),
  };
  const made = (await navigator.credentials.create({ publicKey })) as PublicKeyCredential;
  const response = made.response as AuthenticatorAttestationResponse;
  return { challenge, client_data: text(response.clientDataJSON), attestation: text(response.attestationObject) };
}

/** Have a device sign; what the API takes as `passkey`. */
export async function signWithPasskey({ challenge, options }: Offer) {
  const written = options as RequestWritten;
  const publicKey = {
    ...written,
    challenge: bytes(written.challenge),
    allowCredentials: described(options.allowCredentials),
  };
  const found = (await navigator.credentials.get({ publicKey })) as PublicKeyCredential;
  const response = found.response as AuthenticatorAssertionResponse;
  return {
    challenge,
    id: text(found.rawId),
    client_data: text(response.clientDataJSON),
    authenticator_data: text(response.authenticatorData),
    signature: text(response.signature),
  };
}

/** In words for a person: a browser says the same for a cancelled, late and refused ceremony. */
export const passkeyFault = (fault: unknown): string | null => {
  if (!(fault instanceof DOMException)) return null;
  if (fault.name === "InvalidStateError") return "This device already has one of your passkeys.";
  return "The passkey was not used: the request was cancelled, or it took too long. Try again.";
};
