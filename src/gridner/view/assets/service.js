// Requests to the service.
import { $, many } from "./elements.js";

export const say = (words) => {
  $("status").textContent = words;
};
export const complain = (error) => {
  $("error").textContent = error.message ?? error;
  if (error) say("");
};
export const noted = (notes) => notes.map(({ what, count }) => ` Note: ${count.toLocaleString("en")} × ${what}.`).join("");
export const isAbort = (error) => error.name === "AbortError";

export const headers = () => ($("token").value ? { Authorization: `Bearer ${$("token").value}` } : {});

const answerOf = async (path, options) => {
  const response = await fetch(path, options).catch((error) => {
    if (isAbort(error)) throw error;
    throw new Error("The service does not answer. Is it still running?");
  });
  if (response.ok) return response;
  const { detail } = await response.json().catch(() => ({ detail: `status ${response.status}` }));
  if (response.status === 401) {
    $("token-row").hidden = false;
    $("token").focus();
    throw new Error("The service needs its token.");
  }
  const later = response.headers.get("Retry-After");
  throw Object.assign(
    new Error(
      later
        ? `The service is busy (${detail}). Try again in ${many(Number(later), "second")}.`
        : `The service refused this: ${detail}.`,
    ),
    { later },
  );
};
export const ask = (path, body, signal) =>
  answerOf(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers() },
    body: JSON.stringify(body),
    signal,
  });
export const look = (path) => answerOf(path, { headers: headers() });
