"""Rules of registering, logging in and the access token."""

from __future__ import annotations

from tests.rules.rule import Rule, answered, tests_of

REGISTER, LOGIN, VERIFY = "POST /v1/auth/register", "POST /v1/auth/login", "POST /v1/auth/verify-login"

_register = tests_of("sandbox/auth/test_register.py")
_login = tests_of("sandbox/auth/test_login.py")
_verify = tests_of("sandbox/auth/test_verify_login.py")
_tokens = tests_of("sandbox/auth/test_access_tokens.py")
_client = tests_of("client/test_auth.py")

_TOKEN = "verificationToken: string"
_STATUS = "status: 200"
_USER = (
    "id: string",
    "name: string",
    "email: string",
    "policy: string",
    "organizationId: object",
    "organizationId._id: string",
    "organizationId.orgName: string",
    "role: string",
    "is_active: boolean",
    "iskyc: boolean",
    "invitation_date?: timestamp",
    "invitation_expiration_date?: timestamp",
    "createdAt: timestamp",
    "updatedAt: timestamp",
    "country?: string",
    "countryCode?: string",
    "kyc_url?: string",
    "legalFullName: string",
    "partnerId: string",
    "otp_code?: string",
    "credentials: object",
    "credentials.clientId?: string",
    "credentials.clientSecret?: string",
)

RULES = (
    Rule(
        id="auth.register.who",
        says="A registration needs an e-mail address, a password and a full name, each a text.",
        on=(REGISTER,),
        takes=("email: string", "password: string", "fullName: string"),
        shown_by=_register(
            "test_email_password_and_full_name_are_required_strings", "test_what_was_registered_is_in_the_user"
        ),
    ),
    Rule(
        id="auth.register.national-id-and-country",
        says="A national id and a country's name may be told, as texts.",
        on=(REGISTER,),
        takes=("nationalID?: string", "country?: string"),
        shown_by=_register("test_national_id_and_country_are_optional_strings"),
    ),
    Rule(
        id="auth.register.country-code",
        says="A country code may be told, and then has two letters.",
        on=(REGISTER,),
        takes=("countryCode?: string",),
        shown_by=_register("test_country_code_has_two_letters"),
    ),
    Rule(
        id="auth.register.answer",
        says="A registration answers a verification token, in the envelope that says statusCode.",
        on=(REGISTER,),
        gives=answered(_TOKEN),
        shown_by=_register("test_a_registration_answers_status_code_message_and_verification_token"),
        kept_by_client=_client("test_registering_gives_the_verification_token", "test_registering_says_status_code"),
    ),
    Rule(
        id="auth.register.code",
        says="Which success number a registration has is open.",
        on=(REGISTER,),
        gives=answered(_TOKEN, code="statusCode: 201"),
        shown_by=_register("test_unknown_register_status_code"),
    ),
    Rule(
        id="auth.login.who",
        says="A login needs e-mail address and password.",
        on=(LOGIN,),
        takes=("email: string", "password: string"),
        shown_by=_login(
            "test_email_and_password_are_required_strings", "test_a_login_answers_status_in_place_of_status_code"
        ),
    ),
    Rule(
        id="auth.login.answer",
        says="A login answers a verification token, with its number under status.",
        on=(LOGIN,),
        gives=answered(_TOKEN, code=_STATUS),
        shown_by=_login("test_a_login_answers_status_in_place_of_status_code"),
        kept_by_client=_client(
            "test_logging_in_gives_the_verification_token", "test_logins_say_status_and_nothing_else"
        ),
    ),
    Rule(
        id="auth.login.otp-by-mail",
        says="The one-time password goes to the user's e-mail address.",
        on=(LOGIN,),
        shown_by=_login("test_the_one_time_password_is_mailed"),
    ),
    Rule(
        id="auth.register.otp-by-mail",
        says="A registration mails a one-time password too, which confirms the first login.",
        on=(REGISTER, VERIFY),
        shown_by=_register("test_the_token_of_a_registration_logs_in"),
    ),
    Rule(
        id="auth.verify.exchange",
        says="Verification token and one-time password together are exchanged for the access token; one is not enough.",
        on=(VERIFY,),
        takes=(_TOKEN, "otp: string"),
        shown_by=_verify(
            "test_token_and_otp_are_required_strings",
            "test_it_answers_status_access_token_and_user",
            "test_a_wrong_otp_is_refused_and_the_right_one_still_works",
            "test_an_unknown_token_is_refused",
        ),
    ),
    Rule(
        id="auth.verify.disable-expire",
        says="isDisableExpire is true or false, and false when it is not sent: then the access token expires.",
        on=(VERIFY,),
        takes=("isDisableExpire?: boolean",),
        shown_by=(
            *_verify("test_is_disable_expire_is_true_or_false"),
            *_tokens("test_is_disable_expire_is_false_by_default"),
        ),
        kept_by_client=_client("test_verifying_gives_the_login"),
    ),
    Rule(
        id="auth.verify.no-expiry",
        says="With isDisableExpire the access token never expires, and nothing done later invalidates it.",
        on=(VERIFY,),
        shown_by=_tokens("test_is_disable_expire_true_gives_a_token_without_expiry"),
    ),
    Rule(
        id="auth.verify.answer",
        says="A confirmed login answers access token and user, with its number under status.",
        on=(VERIFY,),
        gives=answered("accessToken: string", "user: object", code=_STATUS),
        shown_by=_verify("test_it_answers_status_access_token_and_user"),
        kept_by_client=_client("test_verifying_gives_the_login", "test_logins_say_status_and_nothing_else"),
    ),
    Rule(
        id="auth.user",
        says="A user has these fields; nobody was invited here, and a used one-time password is not repeated.",
        on=(VERIFY,),
        gives=tuple(f"data.user.{line}" for line in _USER),
        never_filled=(
            "data.user.invitation_date",
            "data.user.invitation_expiration_date",
            "data.user.otp_code",
        ),
        shown_by=(
            *_verify("test_the_user_has_every_field_of_the_interface", "test_unknown_user_credentials_client"),
            *_register("test_what_was_registered_is_in_the_user"),
        ),
    ),
    Rule(
        id="auth.access-token.use",
        says="The access token stands for the user who logged in.",
        on=(VERIFY,),
        shown_by=_tokens("test_the_token_of_a_login_is_its_users"),
    ),
    Rule(
        id="auth.open",
        says="Registering and logging in carry no credentials.",
        on=(REGISTER, LOGIN, VERIFY),
        needs="nothing",
        shown_by=tests_of("sandbox/wire/test_credentials.py")("test_only_open_operations_answer_without_credentials"),
    ),
)
